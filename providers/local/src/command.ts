import { processContext, runMachineController } from '@mcm/core/driver';
import { realClock, undiciTransport, withoutUndefined } from '@mcm/kube';
import { createLocalDriver, type LocalDriverOptions } from './driver/driver.ts';
import { localFlags, localSettings } from './settings.ts';

const CONNECTIONS = 512;

const environment: LocalDriverOptions = {
  clock: realClock,
  connect: (server) => undiciTransport({ server, connections: CONNECTIONS }),
  pods: { random: processContext().random, connectCluster: undiciTransport },
};

await runMachineController(createLocalDriver(environment), {
  provider: {
    flags: localFlags,
    configure: (flags) => {
      const { settings, endpoints } = localSettings(process.env, flags);
      const { backend, endpoint } = settings;
      const { MCM_LOCAL_CLOUD_TOKEN: token } = process.env;
      const defaults = { endpoint: endpoint || undefined, token: token || undefined };
      return { driver: createLocalDriver({ ...environment, ...withoutUndefined({ backend }), defaults }), endpoints };
    },
  },
});
