import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createMetrics } from './create-metrics.ts';
import { watchProcess } from './process.ts';

test('observes the event loop and the garbage collector until it is stopped', async () => {
  const metrics = createMetrics();
  const stop = watchProcess(metrics.meters);
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const reported = async () => (await metrics.scrape()).text;
  await expect.poll(reported).toMatch(/nodejs_gc_duration_seconds_count\{kind="major"\} [1-9]/);
  for (const quantile of ['0.5', '0.99', '1']) {
    expect(await reported()).toMatch(new RegExp(`nodejs_eventloop_delay_seconds\\{quantile="${quantile}"\\} \\d`));
  }
  stop();
});

test('CPU time is a counter that is read at each scrape', async () => {
  const metrics = createMetrics();
  const reported = async (): Promise<number> => {
    const { text } = await metrics.scrape();
    expect(text).toContain('# TYPE process_cpu_seconds_total counter');
    return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1]);
  };
  const { user, system } = process.cpuUsage();
  const before = await reported();
  expect(before).toBeGreaterThanOrEqual((user + system) / 1e6);
  expect(await reported()).toBeLessThan(before * 2);
});
