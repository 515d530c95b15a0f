import { type MachineCode, MachineCodes } from '@mcm/api';
import type { Clock, Meters } from '@mcm/kube';
import type { ObserveApi } from '../driver/contract/driver.ts';
import { OPERATIONS } from '../driver/contract/operations.ts';
import type { ObserveCall, ObserveWait } from '../driver/invoker/api/invoker-api.ts';
import type { StageObserver } from './machine.ts';

/**
 * Registers the metrics of driver calls, and of the machine stages that end with a driver call. A driver does not
 * register its own metrics of calls.
 */
export function registerDriverMetrics(meters: Meters, provider: string, clock: Clock): DriverMetrics {
  const took = meters.histogram({
    name: 'mcm_cloud_api_driver_request_duration_seconds',
    help: 'Duration in seconds of successful driver calls',
    labels: ['provider', 'operation'],
  });
  const failed = meters.counter({
    name: 'mcm_cloud_api_driver_requests_failed_total',
    help: 'Number of failed driver calls, by error code',
    labels: ['provider', 'operation', 'error_code'],
  });
  const perRequest = ['provider', 'service'];
  const requests = meters.counter({
    name: 'mcm_cloud_api_requests_total',
    help: 'Number of successful requests to the cloud API',
    labels: perRequest,
  });
  const refused = meters.counter({
    name: 'mcm_cloud_api_requests_failed_total',
    help: 'Number of failed requests to the cloud API',
    labels: perRequest,
  });
  const requestTook = meters.histogram({
    name: 'mcm_cloud_api_api_request_duration_seconds',
    help: 'Duration in seconds of successful requests to the cloud API',
    labels: perRequest,
  });
  const observeApi: ObserveApi = (service, ms, error) => {
    const labels = { provider, service };
    if (error !== undefined) return refused(labels);
    requests(labels);
    requestTook(ms / 1000, labels);
  };
  const waited = meters.histogram({
    name: 'mcm_cloud_api_wait_seconds',
    help: 'Seconds that the rate limit of the cloud delayed requests; the label lane is delete, health, create or audit',
    labels: ['provider', 'lane'],
  });
  const observeWait: ObserveWait = (lane, ms) => waited(ms / 1000, { provider, lane });
  let stage: StageObserver | undefined;
  const observe: ObserveCall = (call, ms, error, machine, machineClass) => {
    const labels = { provider, operation: OPERATIONS[call] };
    if (error) return failed({ ...labels, error_code: codeNumber(error.code) });
    took(ms / 1000, labels);
    if (!machine || !stage) return;
    const { creationTimestamp, deletionTimestamp } = machine.metadata;
    const since = (time: string): number => clock.now().getTime() - Date.parse(time);
    if (call === 'create') stage('create', machine, since(creationTimestamp), machineClass);
    if (call === 'initialize') stage('initialize', machine, ms, machineClass);
    if (call === 'delete' && deletionTimestamp) stage('delete', machine, since(deletionTimestamp), machineClass);
  };
  return {
    observe,
    observeApi,
    observeWait,
    reportStages: (observer) => {
      stage = observer;
    },
  };
}

/** Counts the calls of a driver. */
export interface DriverMetrics {
  readonly observe: ObserveCall;
  readonly observeApi: ObserveApi;
  readonly observeWait: ObserveWait;
  reportStages(observer: StageObserver): void;
}

const codeNumber = (code: MachineCode): string => String(MachineCodes[code]);
