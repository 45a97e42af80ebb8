import type { Client } from '@oncue/sdk'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import type { Server } from '../../lib/servers.ts'

export const LABEL = 'Notify this browser'
export const WHAT_IT_IS =
  'Alerts reach this browser even while Oncue is closed. Where the browser has no push service, only while a tab is open.'

export interface Where {
  readonly client: Client
  readonly server: Server
}

/** While push reaches this browser, the page need not show notifications itself. */
let isPushed = false
export const reachedByPush = () => isPushed

export async function prepare(): Promise<void> {}

/** Why no notification can arrive although they are on: people forget that they forbade them later. */
export async function whyBlocked(): Promise<string | null> {
  if (!('Notification' in globalThis))
    return 'This browser does not support notifications. On an iPhone, add Oncue to the home screen first.'
  if (!globalThis.isSecureContext) return 'Notifications need https.'
  if (Notification.permission === 'granted') return null
  if (Notification.permission === 'default')
    return 'This browser has not been asked yet. Turn notifications off and on again, and choose Allow.'
  return "Notifications are blocked for this page. Allow them in your browser's settings."
}

/** Returns why they could not be turned on. Null: they are on. */
export async function turnOn(where: Where): Promise<string | null> {
  if ('Notification' in globalThis && globalThis.isSecureContext) await Notification.requestPermission()
  const blocked = await whyBlocked()
  if (blocked !== null) return blocked
  try {
    await subscribe(where)
    return null
  } catch (error) {
    return describeProblem(error).text
  }
}

export async function turnOff({ client }: Where): Promise<string | null> {
  try {
    isPushed = false
    await client.devices.registerWebPush({ subscription: null })
    await (await subscription())?.unsubscribe()
    return null
  } catch (error) {
    return describeProblem(error).text
  }
}

/** A browser may renew its subscription, and a server may have a new key. */
export async function keep(where: Where): Promise<void> {
  if ((await whyBlocked()) === null) await subscribe(where)
}

export async function sendTest({ client }: Where): Promise<string | null> {
  try {
    if (isPushed) return (await client.devices.testPush({})).error
    new Notification('Oncue', { body: 'Notifications arrive in this browser.' })
    return null
  } catch {
    // Chrome on Android has the constructor, but lets only service workers use it.
    return 'This browser does not allow notifications.'
  }
}

/** The session ends, and its subscription with it. */
export async function leave(_server: Server): Promise<void> {
  isPushed = false
  await (await subscription().catch(() => null))?.unsubscribe().catch(() => {})
}

async function registration(): Promise<ServiceWorkerRegistration | undefined> {
  if (!('serviceWorker' in navigator) || !('PushManager' in globalThis)) return undefined
  return navigator.serviceWorker.getRegistration('/')
}

const subscription = async () => (await registration())?.pushManager.getSubscription() ?? null

/** Without a push service the page itself notifies, as long as it is open. */
async function subscribe({ client }: Where): Promise<void> {
  const worker = await registration()
  if (!worker) return
  const { key, isRegistered } = await client.devices.webPushKey(undefined)
  const before = await worker.pushManager.getSubscription()
  if (before && isRegistered) {
    isPushed = true
    return
  }
  await before?.unsubscribe()
  const made = await worker.pushManager
    .subscribe({ userVisibleOnly: true, applicationServerKey: key })
    .catch(() => null)
  if (!made) return
  const { endpoint, keys = {} } = made.toJSON()
  const { p256dh = '', auth = '' } = keys
  await client.devices.registerWebPush({ subscription: { endpoint: endpoint ?? '', keys: { p256dh, auth } } })
  isPushed = true
}
