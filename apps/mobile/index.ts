import './src/lib/runtime.ts'
import 'expo-router/entry'
import { startServiceWorker } from './src/lib/service-worker.ts'

startServiceWorker()
