import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import {
  ConfigError,
  createLogger,
  foreignRefusal,
  type Logger,
  loadKubeconfig,
  realClock,
  undiciTransport,
} from '@mcm/kube';
import type { NodeCluster } from '../kubelet/enrolment.ts';
import { type CloudFlags, parseFlags } from './flags.ts';
import { createLocalCloud, type LocalCloud } from './local-cloud.ts';
import { MemoryStore } from './store/memory-store.ts';
import { openSqliteStore } from './store/sqlite-store.ts';
import { StoreError } from './store/store.ts';
import { systemRandom } from './system-random.ts';

const KUBELET_CONNECTIONS = 16;
const STOP_LIMIT_MS = 5_000;

async function main(): Promise<void> {
  const flags = parseFlags(process.argv.slice(2), process.env);
  const log = createLogger({ level: flags.logLevel });
  const nodeCluster = flags.nodeKubeconfig === undefined ? undefined : await readNodeCluster(flags.nodeKubeconfig);
  // The cloud opens its port before it opens its data. If the port is already in use, the data stays unchanged.
  const server = createServer();
  const address = await listen(server, flags);
  const store = flags.dataDir === undefined ? new MemoryStore() : openSqliteStore(flags.dataDir);
  const { token, zones, imagePolicy, latencies } = flags;
  const cloud = createLocalCloud({
    clock: realClock,
    random: systemRandom,
    log,
    store,
    zones,
    imagePolicy,
    latencies,
    token,
    kubelets: {
      connect: ({ server, ca, clientCertificate }) =>
        undiciTransport({
          server,
          connections: clientCertificate ? 1 : KUBELET_CONNECTIONS,
          ca,
          clientCertificate,
        }),
      defaults: flags.kubelet,
      nodeCluster,
    },
  });
  const answer = getRequestListener(cloud.fetch);
  server.on('request', (request, response) => {
    const foreign = foreignRefusal(request);
    if (foreign === undefined) return answer(request, response);
    response.writeHead(foreign.status, { 'content-type': 'text/plain' }).end(foreign.body);
    return undefined;
  });
  endWithParent(() => stop(server, cloud, log));
  process.stdout.write(`ready ${address}\n`);
}

async function readNodeCluster(file: string): Promise<NodeCluster> {
  const config = await loadKubeconfig(file);
  const { server, ca, tlsServerName, insecureSkipTlsVerify } = config;
  return {
    server,
    transport: undiciTransport({ ...config, connections: KUBELET_CONNECTIONS }),
    bare: undiciTransport({
      server,
      connections: KUBELET_CONNECTIONS,
      ca,
      tlsServerName,
      insecureSkipTlsVerify,
    }),
  };
}

function listen(server: Server, { port }: CloudFlags): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const busy = error.code === 'EADDRINUSE';
      reject(
        new ConfigError(busy ? `--port ${port} is in use: use another port, or 0 for any free port` : error.message),
      );
    });
    server.listen(port, '127.0.0.1', () => {
      const bound = server.address();
      resolve(`http://127.0.0.1:${typeof bound === 'object' && bound ? bound.port : port}`);
    });
  });
}

/** Stops the cloud after SIGTERM, after Ctrl-C, or when the parent process ends. */
function endWithParent(stopAll: () => Promise<void>): void {
  let stopping = false;
  const end = (): void => {
    if (stopping) return;
    stopping = true;
    stopAll().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  };
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  if (process.channel) process.once('disconnect', end);
}

async function stop(server: Server, cloud: LocalCloud, log: Logger): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  const limit = setTimeout(() => log.warn('A component of the local cloud did not stop in time'), STOP_LIMIT_MS);
  server.closeAllConnections();
  await closed;
  await cloud.close();
  clearTimeout(limit);
}

function fail(error: unknown): void {
  const known = error instanceof ConfigError || error instanceof StoreError;
  const stack = known || !(error instanceof Error) ? '' : `${error.stack}\n`;
  process.stderr.write(`${stack}local-cloud: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

main().catch(fail);
