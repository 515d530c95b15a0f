import { expect, test } from 'vitest';
import { autoscalerStorage } from './autoscaler.ts';

const { encode, decode } = autoscalerStorage;

const memory = {
  type: 'Resource',
  resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
};
const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } };
const external = {
  type: 'External',
  external: {
    metric: { name: 'q<1', selector: { matchLabels: { b: '2', a: '1' } } },
    target: { type: 'Value', value: '5' },
  },
};
const rules = {
  stabilizationWindowSeconds: 5,
  selectPolicy: 'Max',
  policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }],
};

const stored = (spec: object, status: object = {}) => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'a', annotations: { mine: 'x' } },
  spec: { maxReplicas: 3, ...spec },
  status: { desiredReplicas: 0, currentMetrics: null, ...status },
});

test('autoscaling/v1 keeps other metrics, the behavior and the conditions in annotations', () => {
  const current = [
    { type: 'Resource', resource: { name: 'cpu', current: { averageValue: '1', averageUtilization: 7 } } },
  ];
  const conditions = [{ type: 'AbleToScale', status: 'True', lastTransitionTime: '2024-01-01T00:00:00Z', reason: 'R' }];
  const object = stored(
    { metrics: [memory, external, cpu], behavior: { scaleUp: rules } },
    { currentMetrics: current, conditions },
  );
  const old = decode(object);
  expect(old.spec).toEqual({ maxReplicas: 3, targetCPUUtilizationPercentage: 60 });
  expect(old.status).toEqual({ currentReplicas: 0, desiredReplicas: 0, currentCPUUtilizationPercentage: 7 });
  expect(old.metadata.annotations).toEqual({
    mine: 'x',
    'autoscaling.alpha.kubernetes.io/metrics':
      '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},{"type":"External","external":{"metricName":"q\\u003c1","metricSelector":{"matchLabels":{"a":"1","b":"2"}},"targetValue":"5"}}]',
    'autoscaling.alpha.kubernetes.io/current-metrics':
      '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":7,"currentAverageValue":"1"}}]',
    'autoscaling.alpha.kubernetes.io/behavior':
      '{"ScaleUp":{"StabilizationWindowSeconds":5,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":null}',
    'autoscaling.alpha.kubernetes.io/conditions':
      '[{"type":"AbleToScale","status":"True","lastTransitionTime":"2024-01-01T00:00:00Z","reason":"R"}]',
  });
  expect(encode(old)).toEqual(object);
});

test('a write to autoscaling/v1 ignores annotations that are not JSON, and does not store them', () => {
  const annotations = { 'autoscaling.alpha.kubernetes.io/metrics': '[', mine: 'x' };
  const spec = { targetCPUUtilizationPercentage: 60 };
  const object = { ...stored(spec), apiVersion: 'autoscaling/v1', metadata: { name: 'a', annotations } };
  expect(encode(object)).toEqual(stored({ metrics: [cpu] }));
});
