import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The licences of the packages in a bundle, which must be included: each text once. */
export async function licencesOf(moduleIds: readonly string[]): Promise<string> {
  const folders = new Set<string>()
  for (const id of moduleIds) {
    const [folder] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id) ?? []
    if (folder !== undefined) folders.add(folder)
  }
  const texts = await Promise.all([...folders].sort().map(licenceOf))
  return texts.join('\n')
}

async function licenceOf(folder: string): Promise<string> {
  const { name, version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const file = (await readdir(folder)).find((candidate) => /^licen[cs]e/i.test(candidate))
  if (file === undefined) throw new Error(`${name} has no licence: may it be bundled?`)
  return `${name} ${version}\n\n${await readFile(join(folder, file), 'utf8')}`
}
