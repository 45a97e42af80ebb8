import type { Client } from '@oncue/sdk'
import type { Server } from '../../lib/servers.ts'

export const WHAT_IT_IS = 'This browser notifies you while Oncue is open in a tab, even in the background.'

export interface Where {
  readonly client: Client
  readonly server: Server
}

export async function prepare(): Promise<void> {}

/** Why none can come although they were turned on: whoever forbids it later forgets that they did. */
export async function whyBlocked(): Promise<string | null> {
  if (!('Notification' in globalThis)) return 'This browser does not support notifications.'
  if (!globalThis.isSecureContext) return 'Notifications need https.'
  if (Notification.permission === 'granted') return null
  return "Notifications are blocked for this page. Allow them in your browser's settings."
}

/** Why not; null: they are on. */
export async function turnOn(_where: Where): Promise<string | null> {
  if ('Notification' in globalThis) await Notification.requestPermission()
  return whyBlocked()
}

export async function turnOff(_where: Where): Promise<string | null> {
  return null
}

export async function keep(_where: Where): Promise<void> {}

export async function sendTest(_where: Where): Promise<string | null> {
  try {
    new Notification('Oncue', { body: 'Notifications arrive in this browser.' })
    return null
  } catch {
    // Chrome on Android has the name, but lets only service workers use it.
    return 'This browser does not allow notifications.'
  }
}

export async function leave(_server: Server): Promise<void> {}
