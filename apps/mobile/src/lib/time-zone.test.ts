import { afterEach, expect, it, vi } from 'vitest'
import { showTimesIn, zoneName } from './time-zone.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  showTimesIn('local')
})

it('names the zone in which times are shown: that of the device, or UTC', () => {
  vi.stubEnv('TZ', 'America/St_Johns')
  expect(zoneName()).toBe('America/St_Johns')
  showTimesIn('utc')
  expect(zoneName()).toBe('UTC')
})
