import { act, fireEvent, render, screen } from '@testing-library/react-native'
import { HoldButton } from './hold-button.tsx'

const byPointer = { nativeEvent: { type: 'touchstart' } }

describe('a button to hold', () => {
  const onConfirm = jest.fn()
  const pass = (ms: number) => act(() => jest.advanceTimersByTime(ms))

  beforeEach(() => {
    jest.useFakeTimers()
    onConfirm.mockClear()
    render(<HoldButton label="Hold to retry 312 jobs" onConfirm={onConfirm} />)
  })
  afterEach(() => jest.useRealTimers())
  const button = () => screen.getByRole('button')

  it('does nothing when it is released too early', () => {
    fireEvent(button(), 'pressIn', byPointer)
    pass(600)
    fireEvent(button(), 'pressOut', byPointer)
    fireEvent.press(button())
    pass(5_000)
    expect(onConfirm).not.toHaveBeenCalled()
  })

  it('confirms after it was held', () => {
    fireEvent(button(), 'pressIn', byPointer)
    pass(2_000)
    expect(onConfirm).toHaveBeenCalledTimes(1)
  })

  it('takes two presses of a key or screen reader, but no double click', () => {
    fireEvent.press(button())
    expect(screen.getByText('Press again to confirm')).toBeVisible()
    pass(100)
    fireEvent.press(button())
    expect(onConfirm).not.toHaveBeenCalled()
    pass(1_000)
    fireEvent.press(button())
    expect(onConfirm).toHaveBeenCalledTimes(1)
  })

  it('forgets the first press after a while', () => {
    fireEvent.press(button())
    pass(10_000)
    expect(screen.getByText('Hold to retry 312 jobs')).toBeVisible()
  })
})
