#!/usr/bin/env node
import { startProgram } from '@mcm/kube/start';

startProgram('cloud-emulator', () => import('./command.ts'));
