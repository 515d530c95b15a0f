import type { Meters } from '@mcm/kube';

/** Counts a request of the cluster autoscaler. */
export type ObserveRequest = (request: {
  readonly method: string;
  readonly code: string;
  readonly seconds: number;
}) => void;

/**
 * Registers the metrics of the external gRPC provider.
 * @param groups Returns the number of node groups.
 * @returns the function that counts the requests
 */
export function registerAutoscalerMetrics(meters: Meters, groups: () => number | undefined): ObserveRequest {
  const requests = meters.counter({
    name: 'mcm_autoscaler_requests_total',
    help: 'Number of requests of the cluster autoscaler, by method and gRPC code of the response',
    labels: ['method', 'code'],
  });
  const duration = meters.histogram({
    name: 'mcm_autoscaler_request_duration_seconds',
    help: 'Duration of the requests of the cluster autoscaler in seconds',
    labels: ['method'],
  });
  meters.observed(
    { name: 'mcm_autoscaler_node_groups', help: 'Number of node groups that the cluster autoscaler can see' },
    () => {
      const value = groups();
      return value === undefined ? [] : [{ value }];
    },
  );
  return ({ method, code, seconds }) => {
    requests({ method, code });
    duration(seconds, { method });
  };
}
