import { fireEvent, render, screen } from '@testing-library/react-native'
import { Chart } from './chart.tsx'

const at = (minutes: number) => new Date(Date.parse('2026-11-18T02:43:00Z') + minutes * 60_000)
const common = { title: 'Failures', unit: 'count' } as const
const INCREMENT = { nativeEvent: { actionName: 'increment' } }
const series = [{ name: 'jobs', values: [1, 163], color: 'bad', kind: 'bar' }] as const

it('the newest step is told apart from the whole: how far the chart goes back, and which step it is', () => {
  render(<Chart {...common} series={series} times={[at(-60), at(0)]} stepMs={3_600_000} />)
  expect(screen.getByText(/^last 2.h · latest: 03:43–04:43.UTC\+1$/)).toBeVisible()
  const hour = Array.from({ length: 60 }, (_, minute) => at(minute - 59))
  render(<Chart {...common} series={series} times={hour} stepMs={60_000} />)
  expect(screen.getByText(/^last hour · latest: 03:43.UTC\+1$/)).toBeVisible()
})

it('a long step that is looked at is told as a range, a minute as a moment', () => {
  const look = () => fireEvent(screen.getByRole('slider'), 'accessibilityAction', INCREMENT)
  render(<Chart {...common} series={series} times={[at(-60), at(0)]} stepMs={3_600_000} />)
  look()
  expect(screen.getByText(/^03:43–04:43.UTC\+1$/)).toBeVisible()
  render(<Chart {...common} series={series} times={[at(-1), at(0)]} stepMs={60_000} />)
  look()
  expect(screen.getByText(/^at 03:43.UTC\+1$/)).toBeVisible()
})
