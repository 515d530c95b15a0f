import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cpuMs, peakRssMb, rssMb } from '../../harness/process-usage.ts';
import { atMost, type Figure, reported } from '../machines/figure.ts';
import type { Latencies, LoadOrder, LoadPlan, LoadReport } from './load.ts';
import { type PlaneProcess, startPlane } from './plane-process.ts';

const PLAN: LoadPlan = {
  nodes: Number(process.env.MCM_BENCH_NODES ?? 5_000),
  pods: Number(process.env.MCM_BENCH_PODS ?? 150_000),
  leasesPerSecond: 500,
  podsPerSecond: Number(process.env.MCM_BENCH_PODS_PER_SECOND ?? 500),
  seconds: Number(process.env.MCM_BENCH_SECONDS ?? 600),
};
const P99_MS = 100;
const P999_MS = 1_000;

/** Runs the load generator in a separate process, and yields the reports of the load generator. */
async function* reports({ port, caCertificate, token }: PlaneProcess): AsyncGenerator<LoadReport> {
  const child = fork(fileURLToPath(new URL('load-main.ts', import.meta.url)), {
    execArgv: ['--conditions=source', '--max-old-space-size=4096'],
  });
  try {
    child.send({ target: { port, caCertificate, token }, plan: PLAN } satisfies LoadOrder);
    for (let isFilled = true; isFilled; ) {
      const report = await new Promise<LoadReport>((resolve, reject) => {
        const ended = (code: number | null): void => reject(new Error(`the load generator ended with status ${code}`));
        child.once('exit', ended);
        child.once('message', (message: LoadReport) => {
          child.off('exit', ended);
          resolve(message);
        });
      });
      yield report;
      isFilled = report.filled;
    }
  } finally {
    child.kill('SIGKILL');
  }
}

const told = ({ p50, p99, p999, max }: Latencies): string =>
  `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(0)} ms, p99.9 ${p999.toFixed(0)} ms, max ${max.toFixed(0)} ms`;

/** Measures a control plane with its store on disk under the load of a large cluster. */
export async function* largeFigures(): AsyncGenerator<Figure> {
  const plane = await startPlane('sqlite');
  try {
    let filledCpuMs = 0;
    for await (const report of reports(plane)) {
      if (report.filled) {
        filledCpuMs = cpuMs(plane.pid);
        const { nodes, pods } = PLAN;
        yield reported(`${nodes} nodes and ${pods} pods created`, report.seconds, 's');
        yield reported('  memory (RSS) of the control plane', rssMb(plane.pid), 'MB');
        continue;
      }
      const rate = report.all.count / report.seconds;
      yield reported('writes a second', rate, 'a second', `${report.all.count} in ${report.seconds.toFixed(0)} s`);
      const cpu = (cpuMs(plane.pid) - filledCpuMs) / report.all.count;
      yield reported('  CPU of the control plane per write, all threads', cpu, 'ms');
      yield atMost(
        '  99th percentile of the duration of writes',
        report.all.p99,
        P99_MS,
        'ms',
        `p50 ${report.all.p50.toFixed(1)} ms`,
      );
      yield atMost(
        '  99.9th percentile of the duration of writes',
        report.all.p999,
        P999_MS,
        'ms',
        `max ${report.all.max.toFixed(0)} ms`,
      );
      for (const [kind, latencies] of Object.entries(report.byKind)) {
        const here = `${(latencies.count / report.seconds).toFixed(0)} a second; ${told(latencies)}`;
        yield { work: `  ${kind}`, here, goal: 'no goal', reached: undefined };
      }
      yield reported(
        '  memory (RSS) of the control plane',
        rssMb(plane.pid),
        'MB',
        `peak ${peakRssMb(plane.pid).toFixed(0)} MB`,
      );
    }
  } finally {
    await plane.stop();
  }
}
