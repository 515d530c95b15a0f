import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ControlPlane, startControlPlane } from '@mcm/control-plane';
import { realClock } from '@mcm/kube';
import { parse, stringify } from 'yaml';
import { freePort } from '../harness/free-port.ts';
import type { Outcome } from './outcomes.ts';
import { runTests } from './run-tests.ts';

export const PROMETHEUS = join('prometheus', 'prometheus');
export const PROMTOOL = join('prometheus', 'promtool');

const LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 500;

/** Checks the control plane's metrics with `promtool check metrics`. */
async function lintMetrics(dir: string, plane: ControlPlane): Promise<boolean> {
  const metrics = await (await plane.fetch(new Request('https://plane/metrics'))).text();
  return new Promise((resolve) => {
    const child = execFile(join(dir, PROMTOOL), ['check', 'metrics'], (error, stdout, stderr) => {
      if (error !== null) process.stdout.write(`prometheus: ${stdout}${stderr}`);
      resolve(error === null);
    });
    child.stdin?.end(metrics);
  });
}

function configuration(kubeconfig: string, folder: string): string {
  const { clusters, users } = parse(kubeconfig);
  const decoded = (text: string): string => Buffer.from(text, 'base64').toString();
  const files = {
    ca_file: join(folder, 'ca.crt'),
    cert_file: join(folder, 'tls.crt'),
    key_file: join(folder, 'tls.key'),
  };
  writeFileSync(files.ca_file, decoded(clusters[0].cluster['certificate-authority-data']));
  writeFileSync(files.cert_file, decoded(users[0].user['client-certificate-data']), { mode: 0o600 });
  writeFileSync(files.key_file, decoded(users[0].user['client-key-data']), { mode: 0o600 });
  const address = new URL(clusters[0].cluster.server).host;
  const found = [
    '__meta_kubernetes_namespace',
    '__meta_kubernetes_service_name',
    '__meta_kubernetes_endpointslice_port_name',
  ];
  const job = {
    job_name: 'apiservers',
    scheme: 'https',
    tls_config: files,
    kubernetes_sd_configs: [{ role: 'endpointslice', api_server: clusters[0].cluster.server, tls_config: files }],
    relabel_configs: [
      { source_labels: found, action: 'keep', regex: 'default;kubernetes;https' },
      // The address in the EndpointSlice belongs to a network that does not exist here, so Prometheus gets the real
      // address.
      { target_label: '__address__', replacement: address },
    ],
  };
  return stringify({ global: { scrape_interval: '1s' }, scrape_configs: [job] });
}

async function soon(done: () => Promise<boolean>): Promise<boolean> {
  const started = realClock.monotonic();
  while (!(await done())) {
    if (realClock.monotonic() - started > LIMIT_MS) return false;
    await sleep(LOOK_EVERY_MS);
  }
  return true;
}

async function hasResult(port: number, query: string): Promise<boolean> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`);
    const { data } = (await answer.json()) as { data?: { result?: readonly unknown[] } };
    return (data?.result?.length ?? 0) > 0;
  } catch (error) {
    // Prometheus does not accept connections yet.
    if (error instanceof TypeError) return false;
    throw error;
  }
}

async function scrape(dir: string, plane: ControlPlane): Promise<Outcome[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mcm prometheus '));
  const port = await freePort();
  const config = join(folder, 'prometheus.yaml');
  writeFileSync(config, configuration(plane.kubeconfig(), folder));
  const flags = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`];
  const child = spawn(join(dir, PROMETHEUS), [...flags, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  try {
    return [
      { name: 'Prometheus discovers and reads the API server', passed: await soon(() => hasResult(port, 'up == 1')) },
      {
        name: 'Prometheus computes the rate of requests',
        passed: await soon(() => hasResult(port, 'sum(rate(apiserver_request_total[10s])) > 0')),
      },
    ];
  } finally {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  }
}

/**
 * Checks the metrics with promtool, lets Prometheus read them, and tests the alerts. @param dir The folder that
 * contains the programs.
 */
export async function runPrometheus(dir: string): Promise<Outcome[]> {
  const plane = await startControlPlane({ port: 0 });
  try {
    return [
      { name: 'promtool accepts the metrics of the control plane', passed: await lintMetrics(dir, plane) },
      ...(await scrape(dir, plane)),
      ...(await runTests(join(dir, 'prometheus'), ['e2e/src/deploy/alerts.test.ts'])),
    ];
  } finally {
    await plane.close();
  }
}
