import type { Controller } from '@mcm/kube';
import { ConfigEvents } from '../constants/conditions.ts';
import type { ConfigContext } from '../controllers/caches.ts';
import { kubeletConfigs } from '../kinds/resources.ts';
import { createNodeConfigController, type NodeConfigOptions } from '../node-config/controller.ts';
import { KUBELET_KIND } from './kind.ts';

/** Creates the controller that writes MachineConfigs for KubeletConfigs. */
export const createKubeletConfigController = (context: ConfigContext, options: NodeConfigOptions): Controller =>
  createNodeConfigController(
    context,
    {
      name: 'kubelet-config',
      kind: KUBELET_KIND,
      informer: context.caches.kubeletConfigs,
      definition: kubeletConfigs,
      refused: ConfigEvents.KubeletConfigRefused,
    },
    options,
  );
