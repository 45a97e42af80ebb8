/** Part of the build of packages/core: writes its declarations again, with the comments on options. */
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { keepComments } from './comments.ts'

const HOME = fileURLToPath(new URL('../../packages/core', import.meta.url))

const { config } = ts.readConfigFile(`${HOME}/tsconfig.build.json`, ts.sys.readFile)
const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, HOME)
const program = ts.createProgram(fileNames, options)
const { emitSkipped } = program.emit(undefined, undefined, undefined, true, keepComments(program))
if (emitSkipped) throw new Error('the declarations of core cannot be written: does it compile?')
