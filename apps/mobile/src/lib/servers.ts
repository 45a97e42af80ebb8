import AsyncStorage from '@react-native-async-storage/async-storage'
import { hostOf } from './address.ts'
import { setNotifiedBy } from './preferences.ts'
import { readStored } from './stored.ts'
import { forgetToken, saveToken } from './token.ts'

const KEY = 'oncue.servers'

export interface Server {
  readonly id: string
  /** `https://oncue.example.com`, or the path of the server that served this page, `/` at the root. */
  readonly url: string
  readonly name: string
}

export interface Servers {
  readonly servers: readonly Server[]
  readonly currentId: string | null
}

/** The servers that this device knows. Their tokens are stored separately, in secure storage. */
export async function loadServers(): Promise<Servers> {
  return (await readStored<Servers>(KEY)) ?? { servers: [], currentId: null }
}

/** A known address gets the new token, and notifications have to be turned on again. */
export async function addServer({ servers }: Servers, url: string, token: string): Promise<Servers> {
  const id = url.replace(/[^A-Za-z0-9._-]/g, '_')
  await saveToken(id, token)
  setNotifiedBy(id, false)
  const others = servers.filter((server) => server.id !== id)
  return store({ servers: [...others, { id, url, name: hostOf(url) }], currentId: id })
}

export async function forgetServer({ servers, currentId }: Servers, id: string): Promise<Servers> {
  await forgetToken(id)
  setNotifiedBy(id, false)
  const others = servers.filter((server) => server.id !== id)
  return store({ servers: others, currentId: currentId === id ? (others[0]?.id ?? null) : currentId })
}

export function chooseServer({ servers }: Servers, id: string): Promise<Servers> {
  return store({ servers, currentId: id })
}

async function store(next: Servers): Promise<Servers> {
  await AsyncStorage.setItem(KEY, JSON.stringify(next))
  return next
}
