#!/usr/bin/env node
import { createProgram, runProgram } from '@oncue/db/cli'
import { declareApi } from './command.ts'

await runProgram(declareApi(createProgram('oncue-api')))
