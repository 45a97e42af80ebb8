/** @jest-environment jsdom */
import { act, renderHook } from '@testing-library/react-native'
import { useCursor } from './use-cursor.ts'

jest.mock('expo-router', () => ({ useIsFocused: () => true }))
// The web version, which listens to keys.
jest.mock('./use-keyboard', () => jest.requireActual('./use-keyboard.web'))

const IDS = ['a', 'b', 'c', 'd']

function press(key: string, target: EventTarget = document.body) {
  act(() => {
    target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))
  })
}

/** A focused element of the page. */
function focused(tag: string): HTMLElement {
  const element = document.createElement(tag)
  element.tabIndex = 0
  document.body.append(element)
  element.focus()
  return element
}

function show(openId?: string) {
  const opened: string[] = []
  const onOpen = (id: string) => opened.push(id)
  const { result, rerender } = renderHook(
    (props: { readonly openId: string | undefined }) => useCursor(IDS, { onOpen, ...props }),
    { initialProps: { openId } },
  )
  return { result, rerender, opened }
}

afterEach(() => document.body.replaceChildren())

describe('the cursor', () => {
  it('begins at the first row, and stays within them', () => {
    const { result } = show()
    press('j')
    expect(result.current).toBe('a')
    press('k')
    expect(result.current).toBe('a')
    for (const _ of IDS) press('j')
    expect(result.current).toBe('d')
  })

  it('begins at the row that is open', () => {
    const { result } = show('c')
    expect(result.current).toBeNull()
    press('j')
    expect(result.current).toBe('d')
  })

  it('continues from a row that was opened by other means', () => {
    const { result, rerender } = show('a')
    press('j')
    rerender({ openId: 'd' })
    press('k')
    expect(result.current).toBe('c')
  })

  it('opens its row with o and Enter', () => {
    const { opened } = show()
    press('j')
    press('Enter')
    press('j')
    press('o')
    expect(opened).toEqual(['a', 'b'])
  })

  it('leaves Enter to the focused element', () => {
    const { opened } = show()
    press('j')
    press('Enter', focused('div'))
    expect(opened).toEqual([])
  })
})

describe('while the user types', () => {
  it('keys are letters, and Escape leaves the field', () => {
    const { result } = show()
    const field = focused('input')
    press('j', field)
    expect(result.current).toBeNull()
    expect(document.activeElement).toBe(field)
    press('Escape', field)
    expect(document.activeElement).toBe(document.body)
  })

  it('Escape in a dialog belongs to the dialog', () => {
    show()
    const dialog = focused('div')
    dialog.setAttribute('role', 'dialog')
    const field = focused('input')
    dialog.append(field)
    field.focus()
    press('Escape', field)
    expect(document.activeElement).toBe(field)
  })
})
