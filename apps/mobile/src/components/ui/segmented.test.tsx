import { render, screen } from '@testing-library/react-native'
import { type PressableProps, StyleSheet } from 'react-native'
import { Segmented } from './segmented.tsx'

type StyleOf = Extract<PressableProps['style'], (...args: never) => unknown>

/** The background while the pointer is over it: only the web knows hovering. */
function backgrounds(style: StyleOf) {
  const under = (hovered: boolean) => {
    const state = { pressed: false, hovered }
    return StyleSheet.flatten(style(state))?.backgroundColor
  }
  return { hovered: under(true), plain: under(false) }
}

it('keeps the colour of the selected segment under the pointer, and marks the others', () => {
  const options = [
    { value: 'firing', label: 'Firing' },
    { value: 'resolved', label: 'Resolved' },
  ] as const
  render(<Segmented label="Which" options={options} value="resolved" onChange={() => {}} />)
  const [other, selected] = screen.UNSAFE_root.findAll(({ props }) => typeof props.style === 'function', {
    deep: false,
  }).map(({ props }) => backgrounds(props.style))
  expect(selected?.plain).toBeDefined()
  expect(selected?.hovered).toBe(selected?.plain)
  expect(other?.hovered).not.toBe(other?.plain)
})
