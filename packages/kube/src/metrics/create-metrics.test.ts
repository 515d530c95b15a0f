import { expect, test } from 'vitest';
import { createMetrics } from './create-metrics.ts';
import { templated } from './template.ts';

test("queues report under client-go's names", async () => {
  const metrics = createMetrics({ prefix: 'mcm_' });
  const observer = metrics.queues('machine', { depth: () => 3, runningForMs: () => [1500, 500] });
  observer.added?.();
  observer.started?.(20);
  observer.finished?.(30);
  observer.retried?.();
  const { text, contentType } = await metrics.scrape();
  expect(contentType).toContain('text/plain');
  for (const line of [
    'mcm_workqueue_depth{name="machine"} 3',
    'mcm_workqueue_adds_total{name="machine"} 1',
    'mcm_workqueue_retries_total{name="machine"} 1',
    'mcm_workqueue_unfinished_work_seconds{name="machine"} 2',
    'mcm_workqueue_longest_running_processor_seconds{name="machine"} 1.5',
    'mcm_workqueue_queue_duration_seconds_sum{name="machine"} 0.02',
    'mcm_workqueue_work_duration_seconds_count{name="machine"} 1',
    'mcm_workqueue_queue_duration_seconds_bucket{le="0.1",name="machine"} 1',
    'mcm_workqueue_queue_duration_seconds_bucket{le="0.01",name="machine"} 0',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
});

test('requests are counted by code and timed by URL template, and reflectors and the process have metrics', async () => {
  const metrics = createMetrics({ prefix: 'mcm_' });
  const observe = metrics.requests('api:6443');
  observe({ method: 'GET', path: '/api/v1/nodes/n1', code: 200, ms: 3 });
  observe({ method: 'GET', path: '/api/v1/nodes/n2', code: 0, ms: 3 });
  metrics.reflectors('nodes', 'list', 7);
  metrics.reflectors('nodes', 'watch', 1);
  const lines = (await metrics.scrape()).text.split('\n');
  expect(lines).toContain('rest_client_requests_total{code="200",method="GET",host="api:6443"} 1');
  expect(lines).toContain('rest_client_requests_total{code="<error>",method="GET",host="api:6443"} 1');
  expect(lines).toContain('rest_client_request_latency_seconds_count{verb="GET",url="/api/v1/nodes/{name}"} 2');
  expect(lines).toContain('mcm_reflector_lists_total{name="nodes"} 1');
  expect(lines).toContain('mcm_reflector_items_per_list{name="nodes"} 7');
  expect(lines.some((line) => /^process_resident_memory_bytes \d+/.test(line))).toBe(true);
});

test.each([
  ['/api/v1/pods?limit=500', '/api/v1/pods'],
  ['/api/v1/nodes/n', '/api/v1/nodes/{name}'],
  ['/api/v1/nodes/n/status', '/api/v1/nodes/{name}/status'],
  ['/api/v1/namespaces/ns', '/api/v1/namespaces/{name}'],
  ['/api/v1/namespaces/ns/pods', '/api/v1/namespaces/{namespace}/pods'],
  ['/apis/g/v1/namespaces/ns/things/t/scale', '/apis/g/v1/namespaces/{namespace}/things/{name}/scale'],
  ['/version', '/version'],
])('the URL of %s is counted as %s', (path, expected) => {
  expect(templated(path)).toBe(expected);
});
