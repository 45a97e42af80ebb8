import type { Outputs } from '@oncue/sdk'
import type { Read } from '../../lib/api.tsx'

export type Database = Outputs['database']['get']
export type Finding = Database['findings'][number]

export const database: Read<Database> = {
  key: ['database.get'],
  call: (client, options) => client.database.get(undefined, options),
  everyMs: 30_000,
}
