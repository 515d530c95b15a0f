import type { Call } from './index.ts';

export const renderSyncCalls: Readonly<Record<string, Call>> = {};
