import signal
import threading

import pytest

from attnbook.console import ctrl_c, progress_bar


def test_the_bar_goes_to_stdout_unless_it_is_hidden(monkeypatch, capsys):
    monkeypatch.delenv("ATTNBOOK_PROGRESS", raising=False)
    with progress_bar(7, 4):
        pass
    shown = capsys.readouterr()
    assert "4/7" in shown.out
    assert shown.err == ""
    with progress_bar(7, 4, hidden=True):
        pass
    monkeypatch.setenv("ATTNBOOK_PROGRESS", "0")
    with progress_bar(7, 4):
        pass
    assert capsys.readouterr() == ("", "")


def test_the_first_ctrl_c_is_noted_and_the_second_stops():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ctrl_c() as seen:
            assert not seen.pressed
            signal.raise_signal(signal.SIGINT)
            assert seen.pressed
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_handler_of_before_is_put_back():
    def mine(number, frame):
        raise AssertionError

    def failing():
        with ctrl_c():
            raise ZeroDivisionError

    before = signal.signal(signal.SIGINT, mine)
    try:
        with ctrl_c():
            assert signal.getsignal(signal.SIGINT) is not mine
        assert signal.getsignal(signal.SIGINT) is mine
        with pytest.raises(ZeroDivisionError):
            failing()
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_process_that_ignores_ctrl_c_goes_on_ignoring_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ctrl_c() as seen:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        assert not seen.pressed
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    except KeyboardInterrupt:
        pytest.fail("stopped")
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_has_no_handler_of_its_own():
    before, seen = signal.getsignal(signal.SIGINT), []

    def run():
        with ctrl_c() as state:
            seen.extend([state.pressed, signal.getsignal(signal.SIGINT) is before])

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [False, True]
