import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'

export type Schedule = Outputs['schedules']['list'][number]

export const scheduleList: Read<Schedule[]> = {
  key: ['schedules.list'],
  call: (client, options) => client.schedules.list(undefined, options),
  everyMs: 10_000,
}
