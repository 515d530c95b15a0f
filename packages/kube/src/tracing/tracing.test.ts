import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../clock/virtual-clock.ts';
import type { Transport, TransportRequest } from '../contract/transport.ts';
import { createMemoryLogger } from '../log/memory-logger.ts';
import { createMetrics } from '../metrics/create-metrics.ts';
import { createSpanExporter } from './exporter.ts';
import { tracingSettings } from './settings.ts';
import { type Span, spanIdOf, traceIdOf } from './span.ts';
import { registerSpanMetrics } from './span-metrics.ts';

const span = (name: string, more: Partial<Span> = {}): Span => ({
  traceId: traceIdOf('m'),
  spanId: spanIdOf('m', name),
  name,
  kind: 'internal',
  startMs: 1_767_225_600_000,
  endMs: 1_767_225_601_500.25,
  attributes: {},
  ...more,
});

function collector(answer: (request: TransportRequest) => Promise<number> | number = () => 200) {
  const clock = new VirtualClock();
  const log = createMemoryLogger();
  const requests: TransportRequest[] = [];
  const transport: Transport = async (request) => {
    requests.push(request);
    return { status: await answer(request), headers: { get: () => null }, text: async () => '{}', body: null };
  };
  const exporter = createSpanExporter({
    transport,
    path: '/v1/traces',
    headers: { authorization: 'Bearer t' },
    clock,
    log,
    resource: { name: 'machine-controller-toy', version: '1.0', attributes: { 'k8s.cluster.name': 'c' } },
  });
  const names = () => requests.map(({ body = '' }) => [...body.matchAll(/"name":"(s\d+)"/g)].map(([, name]) => name));
  return { clock, log, requests, exporter, names };
}

describe('ids', () => {
  test('trace ids have the length of W3C Trace Context, and are the same in every process', () => {
    expect(traceIdOf('machine', 'uid-1')).toMatch(/^[0-9a-f]{32}$/);
    expect(spanIdOf('machine', 'uid-1')).toMatch(/^[0-9a-f]{16}$/);
    expect(traceIdOf('machine', 'uid-1')).toBe(traceIdOf('machine', 'uid-1'));
    expect(traceIdOf('a', 'bc')).not.toBe(traceIdOf('ab', 'c'));
  });
});

describe('export', () => {
  test('an export is one OTLP request for all spans of five seconds', async () => {
    const { clock, requests, exporter } = collector();
    exporter.export(
      span('create', { parentId: spanIdOf('root'), attributes: { text: 'x', whole: 3, part: 0.5, yes: true } }),
    );
    exporter.export(
      span('join', { kind: 'client', error: 'no answer', events: [{ name: 'e', atMs: 1, attributes: {} }] }),
    );
    await clock.advance(4_999);
    expect(requests).toEqual([]);
    await clock.advance(1);
    expect(requests).toHaveLength(1);
    const { method, path, headers, body = '' } = requests[0] ?? expect.fail('nothing was sent');
    expect({ method, path, headers }).toEqual({
      method: 'POST',
      path: '/v1/traces',
      headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
    });
    expect(JSON.parse(body)).toEqual({
      resourceSpans: [
        {
          resource: {
            attributes: [
              { key: 'k8s.cluster.name', value: { stringValue: 'c' } },
              { key: 'service.name', value: { stringValue: 'machine-controller-toy' } },
              { key: 'service.version', value: { stringValue: '1.0' } },
            ],
          },
          scopeSpans: [
            {
              scope: { name: 'mcm', version: '1.0' },
              spans: [
                {
                  traceId: traceIdOf('m'),
                  spanId: spanIdOf('m', 'create'),
                  parentSpanId: spanIdOf('root'),
                  name: 'create',
                  kind: 1,
                  startTimeUnixNano: '1767225600000000000',
                  endTimeUnixNano: '1767225601500250000',
                  attributes: [
                    { key: 'text', value: { stringValue: 'x' } },
                    { key: 'whole', value: { intValue: '3' } },
                    { key: 'part', value: { doubleValue: 0.5 } },
                    { key: 'yes', value: { boolValue: true } },
                  ],
                  events: [],
                  status: {},
                },
                expect.objectContaining({
                  kind: 3,
                  events: [{ name: 'e', timeUnixNano: '1000000', attributes: [] }],
                  status: { code: 2, message: 'no answer' },
                }),
              ],
            },
          ],
        },
      ],
    });
  });

  test('a full batch is sent immediately, and later spans after it', async () => {
    const { clock, exporter, names } = collector();
    for (let n = 0; n < 600; n++) exporter.export(span(`s${n}`));
    await clock.advance(0);
    expect(names().map((batch) => batch.length)).toEqual([512, 88]);
    exporter.export(span('s600'));
    await clock.advance(5_000);
    expect(names().map((batch) => batch.length)).toEqual([512, 88, 1]);
  });

  test('a collector that does not answer costs no memory and no time, and is logged once', async () => {
    const { clock, log, exporter } = collector(
      ({ signal }) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    );
    for (let n = 0; n < 5_000; n++) exporter.export(span(`s${n}`));
    await clock.advance(60_000);
    expect(exporter.dropped).toBe(5_000);
    expect(log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      'export of traces failed; retrying until success',
    ]);
  });

  test('a refusal is logged, and so is its end', async () => {
    let status = 401;
    const { clock, log, exporter } = collector(() => status);
    exporter.export(span('s1'));
    await clock.advance(5_000);
    expect(exporter.dropped).toBe(1);
    const metrics = createMetrics();
    registerSpanMetrics(metrics.meters, exporter);
    const { text } = await metrics.scrape();
    expect(text).toContain('trace_spans{outcome="dropped"} 1');
    expect(text).toContain('trace_spans{outcome="sent"} 0');
    expect(JSON.stringify(log.lines)).toContain('the collector responded with status 401');
    expect(JSON.stringify(log.lines)).not.toContain('Bearer');
    status = 200;
    exporter.export(span('s2'));
    await clock.advance(5_000);
    expect(exporter.sent).toBe(1);
    expect(log.lines.map(({ message }) => message)).toContain('export of traces succeeds again');
  });

  test('pending spans are sent at the end, within a second', async () => {
    const { exporter, names } = collector();
    exporter.export(span('s1'));
    await exporter.flush();
    expect(names()).toEqual([['s1']]);
    await exporter.flush();
    expect(names()).toHaveLength(1);
  });
});

test('the end waits at most a second for a collector that does not answer', async () => {
  const { clock, exporter } = collector(
    ({ signal }) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
  );
  for (let n = 0; n < 1_500; n++) exporter.export(span(`s${n}`));
  const flushed = exporter.flush();
  const before = clock.monotonic();
  await clock.advance(1_000);
  await flushed;
  expect(clock.monotonic() - before).toBe(1_000);
  expect(exporter.dropped).toBe(1_500);
});

describe('settings', () => {
  test('no trace is sent without an endpoint', () => {
    expect(tracingSettings({})).toEqual({ off: true });
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' };
    expect(tracingSettings({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toEqual({ off: true });
    expect(tracingSettings({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' })).toEqual({ off: true });
  });

  test("OpenTelemetry's variables have their documented meaning", () => {
    expect(
      tracingSettings({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c:4318/base/',
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20x, tenant=a=b',
        OTEL_RESOURCE_ATTRIBUTES: 'service.name=named,k8s.cluster.name=prod',
      }),
    ).toEqual({
      server: 'https://c:4318',
      path: '/base/v1/traces',
      headers: { authorization: 'Bearer x', tenant: 'a=b' },
      serviceName: 'named',
      attributes: { 'k8s.cluster.name': 'prod' },
    });
    expect(
      tracingSettings({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://elsewhere',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/my/traces?x=1',
        OTEL_SERVICE_NAME: 'mine',
      }),
    ).toMatchObject({ server: 'http://c:4318', path: '/my/traces?x=1', serviceName: 'mine' });
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, 'OTEL_EXPORTER_OTLP_ENDPOINT is not an http(s) URL'],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      'OTEL_EXPORTER_OTLP_PROTOCOL is grpc, but only http/json is supported (port 4318 of a collector)',
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_HEADERS: 'secret' },
      'OTEL_EXPORTER_OTLP_HEADERS must have the format key=value,key=value',
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_RESOURCE_ATTRIBUTES: 'a=%zz' },
      'OTEL_RESOURCE_ATTRIBUTES must have the format key=value,key=value',
    ],
  ])('%j disables traces with a sentence', (env, because) => {
    expect(tracingSettings(env)).toEqual({ off: true, because });
  });
});
