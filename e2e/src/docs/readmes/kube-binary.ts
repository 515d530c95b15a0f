import { configMaps, createController, createInformer, done, durationFlag, runBinary } from '@mcm/kube';

process.exit(
  await runBinary({
    name: 'demo-controller',
    version: '1.0.0',
    description: 'Manages demos.',
    defaults: { port: 10258, concurrency: 10, controllers: ['demo'] },
    metricsPrefix: 'demo_',
    flags: { 'demo-timeout': durationFlag({ default: 1_200_000, help: 'longest duration of the demo' }) },
    units: ({ control, namespace, runtime, flags, log, metrics, clock, random }) => {
      const informer = createInformer(control, configMaps, { ...runtime, namespace });
      const concurrency = flags['concurrent-syncs'];
      const options = { name: 'demo', concurrency, clock, random, log, metrics: metrics.queues };
      const controller = createController({ ...options, reconcile: async () => done });
      controller.watch(informer, ({ key }) => [key]);
      const needs = [{ client: control, definition: configMaps }];
      return [{ name: 'demo', needs, informers: [informer], run: (signal) => controller.run(signal) }];
    },
  }),
);
