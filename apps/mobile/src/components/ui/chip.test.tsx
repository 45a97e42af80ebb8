import { fireEvent, render, screen } from '@testing-library/react-native'
import { Chip, Chips } from './chip.tsx'

const chips = (
  <Chips>
    <Chip label="Failed" onPress={() => {}} />
  </Chips>
)
const layOut = (width: number, whole: number) => {
  const row = screen.getByTestId('chips')
  fireEvent(row, 'layout', { nativeEvent: { layout: { width } } })
  fireEvent(row, 'contentSizeChange', whole, 36)
}

it('chips that fit have no edge', () => {
  render(chips)
  layOut(358, 300)
  expect(screen.queryByTestId('more-right')).toBeNull()
})

it('a row fades at the side where more chips follow', () => {
  render(chips)
  layOut(358, 900)
  expect(screen.getByTestId('more-right')).toBeTruthy()
  expect(screen.queryByTestId('more-left')).toBeNull()
  fireEvent.scroll(screen.getByTestId('chips'), { nativeEvent: { contentOffset: { x: 542 } } })
  expect(screen.getByTestId('more-left')).toBeTruthy()
  expect(screen.queryByTestId('more-right')).toBeNull()
})
