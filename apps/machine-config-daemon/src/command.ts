import { runBinary } from '@mcm/kube';
import { machineConfigDaemon } from './binary.ts';

process.exit(await runBinary(machineConfigDaemon));
