// For the command, which runs a bulk operation to its end without an API.
export { openControl } from '../control.ts'
export { BulkRunner } from './runner.ts'
