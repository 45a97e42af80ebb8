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
  const text = await findLicence(folder)
  if (text === undefined) throw new Error(`${name} has no licence: may it be bundled?`)
  return `${name} ${version}\n\n${text}`
}

/** A file, or the last section of its README. */
async function findLicence(folder: string): Promise<string | undefined> {
  const files = await readdir(folder)
  const read = (file: string) => readFile(join(folder, file), 'utf8')
  const file = files.find((candidate) => /^licen[cs]e/i.test(candidate))
  if (file !== undefined) return read(file)
  const readme = files.find((candidate) => /^readme/i.test(candidate))
  return readme && /^##? licen[cs]e\n+([\s\S]+)/im.exec(await read(readme))?.[1]
}
