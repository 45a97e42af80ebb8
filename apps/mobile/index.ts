import './src/lib/runtime.ts'
import './src/lib/base-path.ts'
import 'expo-router/entry'
