import { processContext, runMachineController } from '@mcm/core/driver';
import { realClock, undiciTransport } from '@mcm/kube';
import { createLocalDriver } from './driver/driver.ts';

/** Long polls hold a connection each; there is no reason to make them wait for one another. */
const CONNECTIONS = 512;

const { MCM_LOCAL_CLOUD_ENDPOINT: endpoint, MCM_LOCAL_CLOUD_TOKEN: token, MCM_LOCAL_BACKEND: backend } = process.env;
if (backend !== undefined && backend !== 'cloud' && backend !== 'pod') {
  process.stderr.write(
    `machine-controller-local: MCM_LOCAL_BACKEND is ${JSON.stringify(backend)}; write cloud or pod\n`,
  );
  process.exit(1);
}

await runMachineController(
  createLocalDriver({
    clock: realClock,
    connect: (server) => undiciTransport({ server, connections: CONNECTIONS }),
    pods: { random: processContext().random, connectCluster: undiciTransport },
    ...(backend ? { backend } : {}),
    defaults: { ...(endpoint ? { endpoint } : {}), ...(token ? { token } : {}) },
  }),
);
