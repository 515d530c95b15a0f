import { runBinary } from '@mcm/kube';
import { machineConfigController } from './binary.ts';

process.exit(await runBinary(machineConfigController));
