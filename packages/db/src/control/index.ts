import { OncueError } from '@oncue/core'
import type { BaseStore } from '../portable/base-store.ts'
import type { Store } from '../store.ts'
import { createAlertRules, createAlerts } from './alerts.ts'
import { createAudit } from './audit.ts'
import { createBulkOperations } from './bulk-operations.ts'
import { createChannels } from './channels.ts'
import { openClient } from './client.ts'
import { createQueues, createSettings } from './settings.ts'
import { createTokens } from './tokens.ts'

export type { AuditEntry, AuditFilter, AuditPage } from '../portable/audit.ts'
export type { AlertRuleChange, NewAlertRule } from './alerts.ts'
export type { AuditControl } from './audit.ts'
export type { Attempt, ChannelChange, NewChannel } from './channels.ts'
export type { SettingControl, SettingRow } from './settings.ts'
export type { NewToken, TokenControl } from './tokens.ts'

/**
 * What people list and edit, through the Prisma client that is generated from prisma/models.prisma, over the
 * connections of a store. For the API alone: workers and producers need no Prisma. No transaction spans both:
 * what must be one transaction belongs to the Store.
 */
export type Control = Readonly<Awaited<ReturnType<typeof openControl>>>

/** Checks for the property, not for the class: the published API bundles Control apart from the Store. */
function isOpened(store: Store): store is Store & Pick<BaseStore, 'connection' | 'onClose'> {
  return 'connection' in store && 'onClose' in store
}

/** Closed together with its store. */
export async function openControl(store: Store) {
  if (!isOpened(store))
    throw new OncueError('INVALID_INPUT', 'openControl takes a store that openStore has returned')
  const client = await openClient(store.connection)
  store.onClose(() => client.$disconnect())
  const context = { client, dialect: store.connection.dialect, now: () => store.now() }
  const usable = (ids: readonly string[]) => store.tokens.usable(ids)
  return {
    tokens: createTokens(context, usable),
    audit: createAudit(context),
    settings: createSettings(context, async (change) => store.settings.change(change)),
    alertRules: createAlertRules(context),
    alerts: createAlerts(context),
    channels: createChannels(context, usable),
    bulkOperations: createBulkOperations(context),
    queues: createQueues(context),
  }
}
