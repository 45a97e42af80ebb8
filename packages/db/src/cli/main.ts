#!/usr/bin/env node
import { createProgram, runProgram } from './command.ts'
import { declareMigrate } from './migrate.ts'

await runProgram(declareMigrate(createProgram('oncue-migrate')))
