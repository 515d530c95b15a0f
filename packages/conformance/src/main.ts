#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

startProgram('mcm-conformance', () => import('./process.ts'));
