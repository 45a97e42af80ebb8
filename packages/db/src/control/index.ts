import { OncueError } from '@oncue/core'
import { ColdStore } from '../cold-store.ts'
import type { Store } from '../store.ts'
import { openClient } from './client.ts'
import { createSettings, type SettingControl } from './settings.ts'

export type { SettingControl, SettingRow } from './settings.ts'

/**
 * What people list and edit, through the Prisma client that is generated from prisma/models.prisma, over the
 * connections of a store. For the API alone: workers and producers need no Prisma. No transaction spans both:
 * what must be one belongs to the Store.
 */
export interface Control {
  readonly settings: SettingControl
}

/** Ends with its store. */
export async function openControl(store: Store): Promise<Control> {
  if (!(store instanceof ColdStore))
    throw new OncueError('INVALID_INPUT', 'openControl takes a store that openStore has returned')
  const client = await openClient(store.connection)
  store.onClose(() => client.$disconnect())
  const context = { client, now: () => store.now() }
  return { settings: createSettings(context) }
}
