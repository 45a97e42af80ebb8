import { render, screen } from '@testing-library/react-native'
import { JsonTree } from './json-tree.tsx'

describe('JSON', () => {
  it.each([
    [{}, '{}'],
    [[], '[]'],
  ])('%j, which is empty, is one line', (value, text) => {
    render(<JsonTree value={value} />)
    expect(screen.getByText(text)).toBeVisible()
    expect(screen.queryByRole('button')).toBeNull()
  })

  it('has a bracket at the end of everything that is open', () => {
    render(<JsonTree value={{ users: ['u_1'] }} />)
    expect(screen.getByText(']')).toBeVisible()
    expect(screen.getByText('}')).toBeVisible()
  })
})
