import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { undiciTransport } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { inspectDataDir } from '../instance/data-dir.ts';

export interface CloudConnection {
  readonly provider: string;
  /**
   * Sends a request to the control API of the emulated cloud.
   * @throws UserError with the error of the cloud
   */
  readonly call: (method: 'GET' | 'POST', path: string, body?: object) => Promise<string>;
}

/**
 * Connects to the emulated cloud of a local instance, and calls `work` with the connection.
 * @throws UserError if the data directory has no running instance
 */
export async function withCloud<T>(dataDir: string, work: (cloud: CloudConnection) => Promise<T>): Promise<T> {
  const instance = inspectDataDir(dataDir);
  const { provider = 'local', cloudAddress } = instance?.state ?? {};
  if (!instance?.running || cloudAddress === undefined)
    throw new UserError(`directory ${dataDir} has no running local instance; start an instance with: mcm up`);
  const [ca, token] = [join(dataDir, 'cloud', 'ca.crt'), join(dataDir, 'cloud-token')];
  const transport = undiciTransport({
    server: cloudAddress,
    ca: existsSync(ca) ? readFileSync(ca, 'utf8') : undefined,
    token: provider === 'local' ? readFileSync(token, 'utf8') : undefined,
  });
  try {
    return await work({
      provider,
      call: async (method, path, body) => {
        const headers = { 'content-type': 'application/json' };
        const sent =
          body === undefined ? { method, path, headers: {} } : { method, path, headers, body: JSON.stringify(body) };
        const answer = await transport(sent);
        const text = await answer.text();
        if (answer.status < 300) return text;
        throw new UserError(`the cloud responded with status ${answer.status}: ${text.slice(0, 200)}`);
      },
    });
  } finally {
    await transport.close();
  }
}
