import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'

export type Device = Outputs['devices']['list'][number]
export type Pairing = Outputs['pairings']['create']

export const deviceList: Read<Device[]> = {
  key: ['devices.list'],
  call: (client, options) => client.devices.list(undefined, options),
  everyMs: 10_000,
}
