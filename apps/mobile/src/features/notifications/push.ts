import { type Client, createClient } from '@oncue/sdk'
import AsyncStorage from '@react-native-async-storage/async-storage'
import Constants from 'expo-constants'
import * as Native from 'expo-notifications'
import { describeProblem } from '../../components/ui/describe-problem.ts'
import type { Server } from '../../lib/servers.ts'
import { readStored } from '../../lib/stored.ts'
import { readToken } from '../../lib/token.ts'
import { ACTIONS } from './response.ts'

/** The names that the API uses in its messages. */
const CHANNEL = 'alerts'
const CATEGORY = 'alert'
const KEY = 'oncue.push'
const LEAVE_TIMEOUT_MS = 5_000

export const LABEL = 'Notify me of alerts'
export const WHAT_IT_IS =
  'Alerts from this server reach this phone through Expo, even while the app is closed.'

export interface Where {
  readonly client: Client
  readonly server: Server
}

/** Under which push token each server knows this device. */
type Registered = Readonly<Record<string, string>>

let prepared: Promise<void> | undefined

/** Registers Android's channel and the buttons. Each button opens the app, so that its effect is seen. */
export function prepare(): Promise<void> {
  prepared ??= (async () => {
    Native.setNotificationHandler({
      handleNotification: async () => ({
        ...{ shouldShowBanner: true, shouldShowList: true, shouldPlaySound: true, shouldSetBadge: false },
      }),
    })
    await Native.setNotificationChannelAsync(CHANNEL, {
      ...{ name: 'Alerts', importance: Native.AndroidImportance.MAX, sound: 'default' },
    })
    const options = { opensAppToForeground: true }
    await Native.setNotificationCategoryAsync(CATEGORY, [
      { identifier: ACTIONS.ack, buttonTitle: 'Ack', options },
      { identifier: ACTIONS.snooze, buttonTitle: 'Snooze 1 h', options },
      { identifier: ACTIONS.open, buttonTitle: 'Open', options },
    ])
  })()
  return prepared
}

const FORBIDDEN = "Notifications are turned off for Oncue. Allow them in your phone's settings."

/** Why no notification can arrive although they are on: people forget that they forbade them later. */
export async function whyBlocked(): Promise<string | null> {
  return (await Native.getPermissionsAsync()).granted ? null : FORBIDDEN
}

/** Returns why they could not be turned on. Null: they are on. */
export async function turnOn(where: Where): Promise<string | null> {
  try {
    await prepare()
    if (!(await Native.requestPermissionsAsync()).granted) return FORBIDDEN
    // An earlier registration may belong to a device that was revoked.
    await remember(where.server.id, null)
    return await register(where)
  } catch (error) {
    return describeProblem(error).text
  }
}

export async function turnOff({ client, server }: Where): Promise<string | null> {
  try {
    await client.devices.registerPush({ pushToken: null })
    await remember(server.id, null)
    return null
  } catch (error) {
    return describeProblem(error).text
  }
}

/** Push tokens change: registers the current one, so that notifications keep arriving. */
export async function keep(where: Where): Promise<void> {
  if ((await whyBlocked()) === null) await register(where)
}

export async function sendTest({ client }: Where): Promise<string | null> {
  try {
    return (await client.devices.testPush({})).error
  } catch (error) {
    return describeProblem(error).text
  }
}

/** Called before a server is removed, or its alerts would keep arriving. Does not fail if it is unreachable. */
export async function leave(server: Server): Promise<void> {
  if (!(await registered())[server.id]) return
  const token = async () => (await readToken(server.id)) ?? ''
  const client = createClient({ url: server.url, token, retries: 0, timeoutMs: LEAVE_TIMEOUT_MS })
  await client.devices.registerPush({ pushToken: null }).catch(() => {})
  await remember(server.id, null)
}

async function register({ client, server }: Where): Promise<string | null> {
  const projectId = Constants.expoConfig?.extra?.eas?.projectId ?? Constants.easConfig?.projectId
  if (projectId === undefined)
    return 'This app was built without an Expo project, which notifications need. Build it as described in store/README.md.'
  const { data } = await Native.getExpoPushTokenAsync({ projectId })
  if ((await registered())[server.id] === data) return null
  await client.devices.registerPush({ pushToken: data })
  await remember(server.id, data)
  return null
}

const registered = async () => (await readStored<Registered>(KEY)) ?? {}

async function remember(serverId: string, token: string | null): Promise<void> {
  const { [serverId]: _, ...others } = await registered()
  const next = token === null ? others : { ...others, [serverId]: token }
  await AsyncStorage.setItem(KEY, JSON.stringify(next))
}
