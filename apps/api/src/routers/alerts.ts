import { mutation, query, router, subscription } from '../http/trpc.ts'
import * as alerts from '../procedures/alerts.ts'

export const alertsRouter = router({
  list: query(alerts.list),
  get: query(alerts.get),
  ack: mutation(alerts.ack),
  unack: mutation(alerts.unack),
  snooze: mutation(alerts.snooze),
  unsnooze: mutation(alerts.unsnooze),
  watch: subscription(alerts.watch),
  rules: query(alerts.rules),
  createRule: mutation(alerts.createRule),
  updateRule: mutation(alerts.updateRule),
  deleteRule: mutation(alerts.deleteRule),
})
