import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { errorText, realClock, VirtualClock } from '@mcm/kube';
import { loadDriverModule } from '../driver-module.ts';
import { serveCloud } from './over-http.ts';

const STEP_MS = 50;

/** Advances the virtual clock at the speed of the real clock. */
function follow(clock: VirtualClock): void {
  let before = realClock.monotonic();
  let busy = false;
  setInterval(() => {
    if (busy) return;
    const now = realClock.monotonic();
    busy = true;
    clock.advance(now - before).then(
      () => {
        busy = false;
      },
      (error: unknown) => fail(error),
    );
    before = now;
  }, STEP_MS);
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { driver: { type: 'string' }, port: { type: 'string', default: '0' } } });
  const { openCloud } = await loadDriverModule(values.driver ?? '');
  const cloud = await openCloud?.();
  if (cloud?.clock instanceof VirtualClock) follow(cloud.clock);
  const none = { connect: () => () => Promise.reject(new Error('the driver module exports no function openCloud')) };
  const server = await serveCloud(cloud ?? none, Number(values.port), (text) =>
    process.stderr.write(`cloud: ${text}\n`),
  );
  const end = (): void => {
    server.close();
    server.closeAllConnections();
    Promise.resolve(cloud?.close?.()).then(() => process.exit(0), fail);
  };
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  if (process.channel) process.once('disconnect', end);
  const { port } = server.address() as AddressInfo;
  // The path `/none` means that the driver sends its requests over the network, because no cloud runs in this process.
  process.stdout.write(`ready http://127.0.0.1:${port}${cloud === undefined ? '/none' : ''}\n`);
}

function fail(error: unknown): void {
  process.stderr.write(`cloud: ${errorText(error)}\n`);
  process.exit(1);
}

main().catch(fail);
