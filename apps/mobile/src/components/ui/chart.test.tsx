import { render, screen } from '@testing-library/react-native'
import { Chart } from './chart.tsx'

const at = (minutes: number) => new Date(Date.parse('2026-11-18T02:43:00Z') + minutes * 60_000)
const common = { title: 'Failures', unit: 'count' } as const
const series = [{ name: 'jobs', values: [1, 163], color: 'bad', kind: 'bar' }] as const

it('a long step is told as a range, a minute as a moment', () => {
  render(<Chart {...common} series={series} times={[at(-60), at(0)]} stepMs={3_600_000} />)
  expect(screen.getByText(/^03:43–04:43.UTC\+1$/)).toBeVisible()
  render(<Chart {...common} series={series} times={[at(-1), at(0)]} stepMs={60_000} />)
  expect(screen.getByText(/^at 03:43.UTC\+1$/)).toBeVisible()
})
