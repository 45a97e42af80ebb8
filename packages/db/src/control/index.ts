import { OncueError } from '@oncue/core'
import type { AlertControl, AlertRuleControl } from '../alerts.ts'
import type { ChannelControl } from '../channels.ts'
import type { ColdStore } from '../cold-store.ts'
import type { OperationControl } from '../operations.ts'
import type { Store } from '../store.ts'
import { createAlertRules } from './alert-rules.ts'
import { createAlerts } from './alerts.ts'
import { createChannels } from './channels.ts'
import { openClient } from './client.ts'
import { createOperations } from './operations.ts'
import { createSettings, type SettingControl } from './settings.ts'

export type { SettingControl, SettingRow } from './settings.ts'

/**
 * What people list and edit, through the Prisma client that is generated from prisma/models.prisma, over the
 * connections of a store. For the API alone: workers and producers need no Prisma. No transaction spans both:
 * what must be one belongs to the Store.
 */
export interface Control {
  readonly settings: SettingControl
  readonly alertRules: AlertRuleControl
  readonly alerts: AlertControl
  readonly channels: ChannelControl
  readonly operations: OperationControl
}

/** By what it has, not by its class: the published API has Control in a bundle, apart from the Store. */
function isOpened(store: Store): store is Store & Pick<ColdStore, 'connection' | 'onClose'> {
  return 'connection' in store && 'onClose' in store
}

/** Ends with its store. */
export async function openControl(store: Store): Promise<Control> {
  if (!isOpened(store))
    throw new OncueError('INVALID_INPUT', 'openControl takes a store that openStore has returned')
  const client = await openClient(store.connection)
  store.onClose(() => client.$disconnect())
  const context = { client, now: () => store.now() }
  return {
    settings: createSettings(context),
    alertRules: createAlertRules(context),
    alerts: createAlerts(context),
    channels: createChannels(context, (ids) => store.tokens.usable(ids)),
    operations: createOperations(context),
  }
}
