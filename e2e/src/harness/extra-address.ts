import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ExtraAddress {
  readonly kubeconfig: string;
  readonly writes: readonly string[];
  close(): Promise<void>;
}

/** Opens a second address of the control plane: HTTP on the loopback interface. */
export async function openExtraAddress(plane: { fetch(request: Request): Promise<Response> }): Promise<ExtraAddress> {
  const writes: string[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET', url = '/' } = incoming;
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    if (method !== 'GET') writes.push(`${method} ${url.split('?', 1)[0]}`);
    const answer = await plane.fetch(
      new Request(`http://plane${url}`, {
        method,
        headers: new Headers(incoming.headers as Record<string, string>),
        body: chunks.length > 0 ? Buffer.concat(chunks) : null,
      }),
    );
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    outgoing.flushHeaders();
    const parts = answer.body?.getReader();
    if (outgoing.destroyed) await parts?.cancel();
    outgoing.on('close', () => void parts?.cancel());
    for (let part = await parts?.read(); part !== undefined && !part.done; part = await parts?.read())
      outgoing.write(part.value);
    outgoing.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dir = mkdtempSync(join(tmpdir(), 'mcm door '));
  const kubeconfig = join(dir, 'kubeconfig');
  const cluster = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const config = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'c', user: {} }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
    'current-context': 'c',
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  return {
    kubeconfig,
    writes,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
