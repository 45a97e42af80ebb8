import { act, fireEvent, render, screen } from '@testing-library/react-native'
import { StyleSheet, View } from 'react-native'
import { SafeAreaProvider } from 'react-native-safe-area-context'
import { type Toast, ToastProvider, useToast, useToastsAbove } from './toast.tsx'

let show: (toast: Toast) => void

function Screen({ isBarInSight = false }: { readonly isBarInSight?: boolean }) {
  show = useToast().show
  return <View testID="bar" onLayout={useToastsAbove(isBarInSight)} />
}

const PHONE = {
  frame: { x: 0, y: 0, width: 390, height: 844 },
  insets: { top: 0, bottom: 0, left: 0, right: 0 },
}

const app = (isBarInSight = false) => (
  <SafeAreaProvider initialMetrics={PHONE}>
    <ToastProvider>
      <Screen isBarInSight={isBarInSight} />
    </ToastProvider>
  </SafeAreaProvider>
)
const say = (toast: Toast) => act(() => show(toast))
const pass = (ms: number) => act(() => jest.advanceTimersByTime(ms))

beforeEach(() => jest.useFakeTimers())
afterEach(() => jest.useRealTimers())

describe('a toast with Undo', () => {
  const undo = jest.fn()
  const open = jest.fn()

  beforeEach(() => {
    undo.mockClear()
    open.mockClear()
    render(app())
    say({ text: 'mail paused', undo })
  })

  it('is not replaced by an alert, which is shown afterwards', () => {
    pass(7_000)
    say({ text: 'Jobs wait too long', open })
    expect(screen.getByText('mail paused')).toBeVisible()
    expect(screen.queryByLabelText('Open')).toBeNull()
    pass(1_000)
    expect(screen.queryByLabelText('Undo')).toBeNull()
    expect(screen.getByText('Jobs wait too long')).toBeVisible()
    pass(7_999)
    fireEvent.press(screen.getByLabelText('Open'))
    expect(open).toHaveBeenCalledTimes(1)
    expect(screen.queryByText('Jobs wait too long')).toBeNull()
  })

  it('puts no other button in its place under a late tap', () => {
    const button = screen.getByLabelText('Undo')
    say({ text: 'Jobs wait too long', open })
    pass(8_000)
    expect(screen.getByLabelText('Open')).not.toBe(button)
    expect(screen.getByLabelText('Open')).toBeVisible()
  })

  it('is undone once, after which each waiting toast is shown once', () => {
    say({ text: 'mail fails', open })
    say({ text: 'mail fails', open })
    say({ text: 'Jobs wait too long', open })
    fireEvent.press(screen.getByLabelText('Undo'))
    expect(undo).toHaveBeenCalledTimes(1)
    expect(screen.getByText('mail fails')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Close'))
    expect(screen.getByText('Jobs wait too long')).toBeVisible()
    fireEvent.press(screen.getByLabelText('Close'))
    expect(screen.queryByLabelText('Close')).toBeNull()
  })

  it('is replaced by the response to the latest press', () => {
    say({ text: 'You are offline' })
    expect(screen.getByText('You are offline')).toBeVisible()
  })

  it('is replaced by a newer one with Undo, while the others keep waiting', () => {
    say({ text: 'Jobs wait too long', open })
    say({ text: 'media paused', undo })
    expect(screen.getByText('media paused')).toBeVisible()
    pass(8_000)
    expect(screen.getByText('Jobs wait too long')).toBeVisible()
  })
})

it.each([{ text: 'Copied' }, { text: 'Jobs wait too long', open: () => {} }])(
  '$text can be closed',
  (toast) => {
    render(app())
    say(toast)
    fireEvent.press(screen.getByLabelText('Close'))
    expect(screen.queryByText(toast.text)).toBeNull()
  },
)

it('is never wider than the screen, however long its text', () => {
  render(app())
  say({ text: 'ConnectionTerminatedUnexpectedly'.repeat(20), open: () => {} })
  const text = screen.getByText(/^Connection/)
  expect(text).toHaveProp('numberOfLines', 3)
  expect(text).toHaveStyle({ flexShrink: 1, minWidth: 0 })
})

it('appears above a visible bar of any height', () => {
  const bottom = () =>
    StyleSheet.flatten(screen.UNSAFE_getByProps({ 'aria-live': 'polite' }).props.style).bottom
  render(app(true))
  const before = bottom()
  fireEvent(screen.getByTestId('bar'), 'layout', { nativeEvent: { layout: { height: 136 } } })
  expect(bottom()).toBe(136)
  screen.rerender(app(false))
  expect(bottom()).toBe(before)
})
