#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Halves the start: the modules are compiled (and from source: stripped of their types) once, not every time.
enableCompileCache();
await import('./command.ts');
